/** JSON Schemas (2020-12) compiled by ajv in strict mode, with errors that say what was expected. */
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Problem, schemaProblems } from './problems.ts'

/**
 * A function that checks documents against the schema and returns what is wrong with them. The schema is
 * compiled at the first use: a process that never checks a document does not pay for it.
 */
export function schemaChecker(schema: AnySchemaObject): (document: unknown) => readonly Problem[] {
  let validate: ValidateFunction | undefined
  return (document) => {
    validate ??= new Ajv2020({
      strict: true,
      // The schemas are the package's own, and a test holds them to the metaschema; compiling that takes longer
      // than everything else here.
      validateSchema: false,
      allowUnionTypes: true,
      allErrors: true,
      discriminator: true,
      // Errors then carry the schema around them, which knows the fields that do exist.
      verbose: true,
    }).compile(schema)
    return validate(document) ? [] : schemaProblems(validate.errors ?? [], document)
  }
}
