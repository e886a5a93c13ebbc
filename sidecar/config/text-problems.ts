/**
 * Rules for texts of a configuration beyond its schema: that each can be seen whole, and that names
 * follow the rule of names.
 */
import { type Problem, Problems, pathOf } from '../../matrix/document/index.ts'
import { isName, NAME_EXPECTED } from '../base/name.ts'
import { isVisible, VISIBLE_EXPECTED } from '../base/visible-text.ts'

/** Keys of names: of callers, regions and services, and of accounts, projects and users. */
const NAMES: ReadonlySet<string> = new Set([
  ...[
    'name',
    'region',
    'account',
    'accounts',
    'user_name',
    'application_credential_name',
    'project',
    'projects',
    'fixed',
  ],
])

/** Names, paths and URLs are shown in logs and errors. */
export function textProblems(document: unknown): readonly Problem[] {
  const problems = new Problems()
  const path: (string | number)[] = []
  const look = (value: unknown): void => {
    if (typeof value === 'string') {
      if (!isVisible(value))
        problems.add(() => ({ path: pathOf(path), expected: `expected a text ${VISIBLE_EXPECTED}` }))
      else if (NAMES.has(keyOf(path)) && !isName(value))
        problems.add(() => ({ path: pathOf(path), expected: `expected a name ${NAME_EXPECTED}` }))
    }
    if (typeof value !== 'object' || value === null) return
    const isList = Array.isArray(value)
    for (const key of Object.keys(value)) {
      path.push(isList ? Number(key) : key)
      look((value as Readonly<Record<string, unknown>>)[key])
      path.pop()
    }
  }
  look(document)
  return problems.list()
}

/** The key of a value, or of the list that has it. */
function keyOf(path: readonly (string | number)[]): string {
  return path.findLast((part) => typeof part === 'string') ?? ''
}
