#include "base/hash.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include "base/error.h"

namespace draftlab {

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::add(const void* bytes, size_t size) { EVP_DigestUpdate(context_->md, bytes, size); }

std::string Sha256::hex() const {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const Context copy;  // a digest that has been read takes no more bytes
  EVP_MD_CTX_copy_ex(copy.md, context_->md);
  EVP_DigestFinal_ex(copy.md, digest, &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

std::string sha256_base64(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string text(4 * ((size + 2) / 3), '\0');
  // It writes a NUL behind the text, where std::string has one.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), digest, static_cast<int>(size));
  return text;
}

std::string sha256_hex_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(file.string(), "cannot be read; check that it exists and is readable");
  Sha256 sum;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0)
    sum.add(buffer.data(), in.gcount());
  if (in.bad()) throw Error(file.string(), "reading failed");
  return sum.hex();
}

}  // namespace draftlab
