/** Folders for one run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a new folder. It is removed when the stack is disposed. */
export function temporaryFolder(stack: DisposableStack | AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  return folder
}
