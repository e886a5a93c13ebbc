/** The rights of a caller as the configuration and the command line write them. */

/** The rights of a caller. `everything` includes the others. */
export interface ConfiguredRights {
  readonly everything: boolean
  readonly revoke: boolean
  readonly read: boolean
  /** Follow changes, as `WatchChanges` sends them. */
  readonly follow: boolean
  /** Account numbers. */
  readonly administer: ReadonlySet<string>
}

/** The form of a right, for errors. */
export const RIGHT_EXPECTED = 'a right: revoke, read, follow, everything, or administer:ACCOUNT'

const ADMINISTER = /^administer:([0-9A-Za-z][0-9A-Za-z._-]{0,63})$/

/** Whether the text is a right, for example `revoke` or `administer:123456`. */
export function isRight(text: string): boolean {
  return ['revoke', 'read', 'follow', 'everything'].includes(text) || ADMINISTER.test(text)
}

/** @param texts each of them is a right */
export function rightsOf(texts: readonly string[]): ConfiguredRights {
  return {
    everything: texts.includes('everything'),
    revoke: texts.includes('revoke'),
    read: texts.includes('read'),
    follow: texts.includes('follow'),
    administer: new Set(texts.flatMap((text) => ADMINISTER.exec(text)?.[1] ?? [])),
  }
}
