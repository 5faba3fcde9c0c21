# A formula of Homebrew. `cargo x dist` fills in the words in capitals.
class Umbel < Formula
  desc "Exact set operations on huge files, and Bloom filters"
  homepage "https://github.com/umbel/umbel"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/umbel/umbel/releases/download/vVERSION/umbel-VERSION-aarch64-apple-darwin.tar.gz"
      sha256 "MACOS_ARM"
    end
  end

  on_linux do
    on_intel do
      url "https://github.com/umbel/umbel/releases/download/vVERSION/umbel-VERSION-x86_64-unknown-linux-musl.tar.gz"
      sha256 "LINUX_INTEL"
    end
    on_arm do
      url "https://github.com/umbel/umbel/releases/download/vVERSION/umbel-VERSION-aarch64-unknown-linux-musl.tar.gz"
      sha256 "LINUX_ARM"
    end
  end

  def install
    bin.install "umbel"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/umbel.bash" => "umbel"
    zsh_completion.install "completions/_umbel"
    fish_completion.install "completions/umbel.fish"
  end

  test do
    (testpath/"one").write "a\nb\n"
    (testpath/"two").write "b\nc\n"
    assert_equal "b\n", shell_output("#{bin}/umbel common one two")
  end
end
