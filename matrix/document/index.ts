/**
 * Reading strict JSON documents: the text, the schema, and what is wrong in words. Nothing here knows what a
 * matrix is.
 */
export { readJson } from './json.ts'
export {
  firstProblems,
  PROBLEMS_MAX,
  type Problem,
  Problems,
  pathOf,
  problemText,
} from './problems.ts'
export { problemsBy } from './schema.ts'
