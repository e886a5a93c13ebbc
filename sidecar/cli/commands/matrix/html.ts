/** The explorer as one HTML file: the page that the build made, with a matrix in it. */
import { writeFileSync } from 'node:fs'
import type { Matrix } from '../../../../engine/index.ts'
import { pageFile } from '../../../base/package.ts'

/** Where the page has a place for the rules. */
const PLACE = '<!--rules-->'

/** @throws Error where the file cannot be written */
export function writeExplorer(path: string, matrix: Matrix, strict: boolean): void {
  writeFileSync(path, explorerOf(pageFile('explorer.html').toString(), matrix, strict))
}

/** The page with a matrix, as JSON that no browser takes for markup. */
export function explorerOf(page: string, matrix: Matrix, strict: boolean): string {
  const rules = { matrix, mode: strict ? 'strict' : 'resolved', verify: false }
  return page.replace(PLACE, () => JSON.stringify(rules).replaceAll('<', '\\u003c'))
}
