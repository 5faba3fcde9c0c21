# For Nix: `pkgs.callPackage ./packaging/package.nix { }` in a checkout.
{ lib, rustPlatform, installShellFiles }:

rustPlatform.buildRustPackage {
  pname = "umbel";
  version = (lib.importTOML ../Cargo.toml).workspace.package.version;
  src = lib.cleanSource ../.;
  cargoLock.lockFile = ../Cargo.lock;
  buildType = "dist";
  cargoBuildFlags = [ "--package=umbel-cli" "--features=parquet" ];
  # They run Python and servers from registries.
  doCheck = false;
  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    $out/bin/umbel man --dir man
    installManPage man/*.1
    for shell in bash zsh fish; do
      $out/bin/umbel completions $shell > umbel.$shell
    done
    installShellCompletion umbel.bash umbel.fish --zsh umbel.zsh
  '';
  meta = {
    description = "Exact set operations on huge files, and Bloom filters";
    homepage = "https://github.com/umbel/umbel";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "umbel";
  };
}
