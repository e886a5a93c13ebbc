/** A data folder with the demo of a development sidecar, and a large account. */
import { join } from 'node:path'
import { pepperFingerprintIn } from '../../sidecar/authority/keys-backup.ts'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import { fillDirectory, type LargeAccount } from '../../test/support/directory/large-directory.ts'
import { openLocation } from '../../test/support/directory/writer.ts'
import { type SidecarReady, startSidecar } from '../servers/start.ts'
import { newDataFolder } from './tokens.ts'

export interface LargeSite {
  readonly folder: string
  /** The directory, in the folder. */
  readonly file: string
  readonly demo: SidecarReady['demo']
  /** Where a backup of it may be written. */
  readonly backup: string
  readonly large: LargeAccount
  /** Deletes it as of two days ago, so its rows are due (`DUE`). */
  readonly deleteAccount: () => Promise<void>
}

/** The environment of a sidecar that removes what was deleted a day ago. */
export const DUE = { PORTCULLIS_DIRECTORY_KEEP_DELETED_DAYS: '1', PORTCULLIS_LOG_LEVEL: 'warn' }
const LONG_AGO_MS = 2 * 86_400_000

export async function newLargeSite(stack: AsyncDisposableStack, users: number): Promise<LargeSite> {
  const folder = newDataFolder(stack)
  const sidecar = await startSidecar({ flags: ['--data', folder] })
  const { demo } = sidecar.ready
  await sidecar.stop()
  const file = join(folder, DIRECTORY_FILE)
  const store = await openLocation({ type: 'sqlite', file })
  const large = await fillDirectory(store, users, pepperFingerprintIn(folder))
  await store.close()
  return {
    ...{ folder, file, backup: join(folder, 'directory.backup'), demo, large },
    deleteAccount: async () => {
      const past = await openLocation({ type: 'sqlite', file }, () => Date.now() - LONG_AGO_MS)
      await past.change('a benchmark', (change) => change.deleteAccount(large.account))
      await past.close()
    },
  }
}
