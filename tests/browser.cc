#include "tests/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr int kPatience = 120'000;  // milliseconds, with a slow machine

std::string text_of(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : canonical(value);
}

// Out of the way of 3 and 4, the ends that Chromium expects.
int moved(int descriptor) {
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
  ::close(descriptor);
  return high;
}

}  // namespace

std::optional<fs::path> Browser::program() {
  for (const char* name :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (fs::exists(name)) return name;
  }
  return std::nullopt;
}

Browser::Browser() {
  std::array<int, 2> commands, answers;
  if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0)
    throw Error("browser", "no pipe can be made");
  const int their_in = moved(commands[0]), their_out = moved(answers[1]);
  to_ = moved(commands[1]);
  from_ = moved(answers[0]);
  const std::string chromium = program().value().string();
  std::vector<std::string> words = {chromium,
                                    "--headless=new",
                                    "--no-sandbox",
                                    "--disable-gpu",
                                    "--disable-dev-shm-usage",
                                    "--disable-background-networking",
                                    "--disable-component-update",
                                    "--no-first-run",
                                    "--remote-debugging-pipe",
                                    "--user-data-dir=" + (folder_ / "profile").string(),
                                    "about:blank"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::dup2(their_in, 3);
    ::dup2(their_out, 4);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  ::close(their_in);
  ::close(their_out);

  const Json target = call("Target.createTarget", {{"url", "about:blank"}});
  const Json attached =
      call("Target.attachToTarget", {{"targetId", target.at("targetId")}, {"flatten", true}});
  session_ = text_of(attached.at("sessionId"));
  for (const char* domain : {"Page", "Runtime", "Log", "Network"})
    call(std::string(domain) + ".enable");
  call("Network.emulateNetworkConditions",
       {{"offline", true}, {"latency", 0}, {"downloadThroughput", -1}, {"uploadThroughput", -1}});
}

Browser::~Browser() {
  ::close(to_);
  ::close(from_);
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Browser::allow_scripts(bool allow) {
  call("Emulation.setScriptExecutionDisabled", {{"value", !allow}});
}

void Browser::set_width(int pixels) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", pixels}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::set_dark(bool dark) {
  call("Emulation.setEmulatedMedia",
       {{"features", JsonArray{JsonObject{{"name", "prefers-color-scheme"},
                                          {"value", dark ? "dark" : "light"}}}}});
}

void Browser::open(const fs::path& file) {
  loaded_ = false;
  call("Page.navigate", {{"url", "file://" + file.string()}});
  while (!loaded_) note(receive());
}

Json Browser::evaluate(const std::string& expression) {
  const Json answer =
      call("Runtime.evaluate",
           {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.as_object().contains("exceptionDetails"))
    throw Error(expression, canonical(answer.at("exceptionDetails")));
  const JsonObject& result = answer.at("result").as_object();
  return result.contains("value") ? result.at("value") : Json(nullptr);
}

Json Browser::call(const std::string& method, const JsonObject& parameters) {
  JsonObject message{{"id", ++last_id_}, {"method", method}, {"params", parameters}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = canonical(message) + '\0';
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(to_, text.data() + at, text.size() - at);
    if (written <= 0) throw Error("browser", "takes no command");
    at += static_cast<size_t>(written);
  }
  for (;;) {
    const Json answer = receive();
    const JsonObject& object = answer.as_object();
    if (!object.contains("id")) {
      note(answer);
    } else if (object.at("id") == last_id_) {
      if (object.contains("error")) throw Error(method, canonical(object.at("error")));
      return object.at("result");
    }
  }
}

Json Browser::receive() {
  size_t end;
  while ((end = buffer_.find('\0')) == std::string::npos) {
    pollfd wait{from_, POLLIN, 0};
    if (::poll(&wait, 1, kPatience) <= 0) throw Error("browser", "does not answer");
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(from_, bytes.data(), bytes.size());
    if (count <= 0) throw Error("browser", "has ended");
    buffer_.append(bytes.data(), static_cast<size_t>(count));
  }
  const Json message = parse_json(buffer_.substr(0, end), "browser");
  buffer_.erase(0, end + 1);
  return message;
}

void Browser::note(const Json& event) {
  const std::string method = text_of(event.at("method"));
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Network.requestWillBeSent")
    requests_.push_back(text_of(event.at("params").at("request").at("url")));
  if (method == "Log.entryAdded" || method == "Runtime.exceptionThrown" ||
      method == "Runtime.consoleAPICalled") {
    complaints_.push_back(canonical(event.at("params")));
  }
}

}  // namespace draftlab
