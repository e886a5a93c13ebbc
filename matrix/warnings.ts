/** Parts that a matrix may have and probably does not mean. */
import type { Matrix } from '../engine/index.ts'
import { Problems, pathOf } from './document/index.ts'
import type { MatrixProblem } from './findings.ts'
import { similarIds } from './similar-ids.ts'

/** Everything that is probably not meant: the first 100, and an entry that says how many more there are. */
export function warningsOf(matrix: Matrix): readonly MatrixProblem[] {
  const warnings = new Problems<MatrixProblem>()
  findClosed(matrix, warnings)
  findStatementsWithoutSection(matrix, warnings)
  findTitles(matrix, warnings)
  for (const part of ['tokenKinds', 'apis'] as const) {
    const ids = matrix[part].map(({ id }) => id)
    for (const { index, earlier } of similarIds(ids))
      warnings.add(() => ({
        code: 'similar-ids',
        path: pathOf([part, index, 'id']),
        expected: `expected an id that differs from \`${ids[earlier]}\` by more than a slip`,
      }))
  }
  return warnings.list()
}

/** Rows that change nothing. They are not problems, because an API may be closed to all for a while. */
function findClosed({ tokenKinds, apis, conflicts }: Matrix, warnings: Problems<MatrixProblem>): void {
  const opened = new Set<string>()
  const accepted = new Set<string>()
  const ruledByProse = new Map<string, Set<string>>()
  for (const { resolution, cells } of conflicts)
    if (resolution === 'prose')
      for (const { api, kind } of cells) ruledByProse.set(api, (ruledByProse.get(api) ?? new Set()).add(kind))
  for (const { id, accepts, public: isPublic } of apis) {
    const reversed = ruledByProse.get(id)
    const kinds =
      reversed === undefined
        ? accepts
        : tokenKinds.map((kind) => kind.id).filter((kind) => accepts.includes(kind) !== reversed.has(kind))
    if (kinds.length > 0 || isPublic === true) opened.add(id)
    for (const kind of kinds) accepted.add(kind)
  }
  for (const [index, { id }] of tokenKinds.entries())
    if (!accepted.has(id))
      warnings.add(() => ({
        code: 'unaccepted-kind',
        path: pathOf(['tokenKinds', index]),
        expected: `expected an API that accepts \`${id}\`; there is none`,
      }))
  for (const [index, { id }] of apis.entries())
    if (!opened.has(id))
      warnings.add(() => ({
        code: 'unopened-api',
        path: pathOf(['apis', index, 'accepts']),
        expected: `expected a kind of token that opens \`${id}\`; there is none`,
      }))
}

/** "…accepts a Session token" reads like the name of something. */
function findTitles({ tokenKinds }: Matrix, warnings: Problems<MatrixProblem>): void {
  for (const [index, { title }] of tokenKinds.entries())
    if (/^[A-Z][a-z]/.test(title))
      warnings.add(() => ({
        code: 'title-in-capitals',
        path: pathOf(['tokenKinds', index, 'title']),
        expected: `expected a title for the middle of a sentence: \`${title.charAt(0).toLowerCase()}${title.slice(1)}\``,
      }))
}

const SECTION = /^§/

function findStatementsWithoutSection({ statements }: Matrix, warnings: Problems<MatrixProblem>): void {
  const example = statements.find(({ section }) => SECTION.test(section))?.section
  if (example === undefined) return
  for (const [index, { section }] of statements.entries())
    if (!SECTION.test(section))
      warnings.add(() => ({
        code: 'no-source-section',
        path: pathOf(['statements', index, 'section']),
        expected: `expected a section of the source, as other statements have: \`${example}\``,
      }))
}
