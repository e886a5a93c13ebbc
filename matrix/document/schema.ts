/**
 * Checks documents with the code that `npm run gen` makes of the JSON Schemas, and says in words what was
 * expected.
 */
import { type Problem, type SchemaError, schemaProblems } from './problems.ts'

/** A schema as ajv compiles it: whether a document is valid, and the errors of the last one that was not. */
export interface Validator {
  (document: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** What is wrong with a document. Empty: it is valid. */
export function problemsBy(validate: Validator, document: unknown): readonly Problem[] {
  return validate(document) ? [] : schemaProblems(validate.errors ?? [], document)
}
