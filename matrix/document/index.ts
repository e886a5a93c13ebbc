/**
 * Reading documents strictly, in JSON or YAML: the text, the schema, and the faults in words. Nothing here
 * knows what a matrix is.
 */
export { type DocumentForm, formOfName, forms, json, jsonc } from './form.ts'
export { REPEATS, type ReadingOptions, readJson } from './json.ts'
export { segmentsOf } from './places.ts'
export {
  firstProblems,
  type Place,
  PROBLEMS_MAX,
  type Problem,
  Problems,
  pathOf,
  problemsBy,
  problemText,
} from './problems.ts'
