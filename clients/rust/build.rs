//! Makes the messages and stubs of the contract from its protos. It needs no `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["authorization", "directory", "error_reason"].map(|name| format!("portcullis/v1/{name}.proto"));
    tonic_prost_build::configure()
        // The stubs of a server are for tests with a fake sidecar.
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        // An answer may be kept, and a large variant beside small ones is of no matter in it.
        .type_attribute(".", "#[allow(clippy::large_enum_variant)]")
        .emit_rerun_if_changed(false)
        .compile_fds(protox::compile(files, ["proto"])?)?;
    Ok(())
}
