//! Makes the stubs in `src/gen` from the protos. It needs no `protoc`.
//!
//! ```sh
//! cargo run --package portcullis-generate [FOLDER]
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    // When it runs, not when it was compiled: checkouts share what is compiled.
    let here = std::env::var("CARGO_MANIFEST_DIR")?;
    let here = Path::new(&here);
    let protos = here.join("../../../proto");
    let folder = std::env::args_os().nth(1).map_or_else(|| here.join("../src/gen"), PathBuf::from);
    let files = ["authorization", "directory", "error_reason"].map(|name| format!("portcullis/v1/{name}.proto"));
    let descriptors = protox::compile(files, [&protos])?;
    fs::create_dir_all(&folder)?;
    tonic_prost_build::configure()
        // The stubs of a server are for tests with a fake sidecar.
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        // An answer may be kept, and a large variant beside small ones is of no matter in it.
        .type_attribute(".", "#[allow(clippy::large_enum_variant)]")
        .emit_rerun_if_changed(false)
        .out_dir(&folder)
        .compile_fds(descriptors)?;
    Ok(())
}
