/** The page of `console/`, built as `npm run build:console` does. */
import { join } from 'node:path'
import { buildConsole } from '../../scripts/console.ts'
import { ROOT } from './sources.ts'

/** Where a checkout has the page. */
export const CONSOLE = join(ROOT, 'console/dist')

/** Builds it where the sidecar and the command line find it. Several files may do that at once: each part is written whole. */
export async function builtConsole(): Promise<string> {
  await buildConsole(CONSOLE)
  return CONSOLE
}
