/**
 * `portcullis`: starts a sidecar inside another program.
 *
 * @module
 */
export { trusted } from './authority/actor.ts'
export type { Administration } from './authority/administration/administration.ts'
export { type Applied, applyFile, type DirectoryFile } from './authority/administration/directory-file.ts'
export { type AccountListing, listDirectory } from './authority/administration/directory-listing.ts'
export type { NewSecret } from './authority/administration/secrets.ts'
export type { Secret } from './base/secret.ts'
export { type Config, ConfigError, type ConfigSources, readConfig } from './config/config.ts'
export type { Sidecar, StartOptions } from './process/serving.ts'
export { startSidecar } from './process/sidecar.ts'
