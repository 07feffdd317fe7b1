#include "record/machine.h"

#include "base/error.h"

namespace draftlab {

JsonObject to_json(const Machine& machine) {
  return {{"vector_instructions", machine.vector_instructions},
          {"device", machine.device},
          {"cpu", machine.cpu},
          {"cores", machine.cores},
          {"threads", machine.threads}};
}

Machine read_machine(Fields& fields) {
  Machine machine{fields.text("vector_instructions"), fields.text("device"), fields.text("cpu"),
                  fields.integer("cores"), fields.integer("threads")};
  for (const char* key : {"cores", "threads"})
    require_at_least(static_cast<double>(fields.integer(key)), 1, fields.where(key));
  return machine;
}

}  // namespace draftlab
