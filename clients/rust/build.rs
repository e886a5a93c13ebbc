//! Makes the messages and stubs of the contract from its protos. It needs no `protoc`.

use std::error::Error;
use std::path::Path;

/// A package of the crate has the protos; a checkout has them for all clients.
const PROTOS: [&str; 2] = ["proto", "../../proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let protos = PROTOS.into_iter().find(|folder| Path::new(folder).is_dir()).ok_or("expected the folder `proto`")?;
    println!("cargo:rerun-if-changed={protos}");
    let files = ["authorization", "directory", "error_reason"].map(|name| format!("portcullis/v1/{name}.proto"));
    tonic_prost_build::configure()
        // The stubs of a server are for tests with a fake sidecar.
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        // An answer may be kept, and a large variant beside small ones does not matter in it.
        .type_attribute(".", "#[allow(clippy::large_enum_variant)]")
        .emit_rerun_if_changed(false)
        .compile_fds(protox::compile(files, [protos])?)?;
    Ok(())
}
