/** Documents checked by the code that `npm run gen` makes of the JSON Schemas, with errors that say what was expected. */
import { type Problem, type SchemaError, schemaProblems } from './problems.ts'

/** A schema as ajv compiles it: whether a document is right, and what was wrong with the last one. */
export interface Validator {
  (document: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** What a schema says against a document; nothing: it is right. */
export function problemsBy(validate: Validator, document: unknown): readonly Problem[] {
  return validate(document) ? [] : schemaProblems(validate.errors ?? [], document)
}
