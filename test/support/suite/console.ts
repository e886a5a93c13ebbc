/**
 * The page of `console/`, built before the tests of a run as `npm run build:console` does, so that they ask
 * the sources as they are.
 */
import { join } from 'node:path'
import { buildConsole } from '../../../scripts/console.ts'
import { ROOT } from '../checkout/sources.ts'

/** Where a checkout has the page. */
export const CONSOLE = join(ROOT, 'console/dist')

export async function setup(): Promise<void> {
  await buildConsole(CONSOLE)
}
