#pragma once

#include <string>
#include <vector>

namespace draftlab {

// The commands of `draftlab`, each in its own file. `words` is what follows the command's name.
// They return the exit status and throw Error or UsageError.
using Words = std::vector<std::string>;

int plan_command(const Words& words);
int run_command(const Words& words);
int resume_command(const Words& words);
int status_command(const Words& words);
int log_command(const Words& words);
int forget_command(const Words& words);
int restart_command(const Words& words);
int retry_failed_command(const Words& words);
int report_command(const Words& words);
int answer_command(const Words& words);
int check_command(const Words& words);
int store_command(const Words& words);
int optimizers_command(const Words& words);
int signature_command(const Words& words);
int pipeline_command(const Words& words);
int decide_command(const Words& words);
int decode_command(const Words& words);

}  // namespace draftlab
