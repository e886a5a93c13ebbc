/**
 * `portcullis/sidecar`: the sidecar as a value, for programs that run it themselves.
 *
 * @module
 */
export type { Administration } from './authority/administration.ts'
export type { AccountListing, Applied, DirectoryFile, NewSecret } from './authority/directory-file.ts'
export { type Config, ConfigError, type ConfigSources, readConfig } from './config/config.ts'
export { type Sidecar, type StartOptions, startSidecar } from './sidecar.ts'
