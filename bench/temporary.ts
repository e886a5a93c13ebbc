/** Folders for one run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder, gone with the stack. */
export function temporaryFolder(stack: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  return folder
}
