"""Prints every scalar that TensorBoard reads in a folder: RUN, TAG, STEP, bits of the wall time
(float64), bits of the value (float32), with tabs between. Ends with status 3 where there is no
tensorboard."""
import struct
import sys

try:
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
except ImportError as error:
    print(error)
    sys.exit(3)

multiplexer = EventMultiplexer(size_guidance={"scalars": 0})
multiplexer.AddRunsFromDirectory(sys.argv[1])
multiplexer.Reload()
for run, data in multiplexer.Runs().items():
    for tag in data["scalars"]:
        for event in multiplexer.Scalars(run, tag):
            wall_time = struct.pack(">d", event.wall_time).hex()
            value = struct.pack(">f", event.value).hex()
            print(run, tag, event.step, wall_time, value, sep="\t")
