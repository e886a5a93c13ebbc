/**
 * `@portcullis/matrix/yaml`: reads matrices in YAML. It is a separate module, because it has a parser of
 * YAML, which is larger than all the rest.
 *
 *     loadMatrix(text, yaml)
 *
 * @module
 */
import * as library from 'yaml'
import type { DocumentForm } from './document/index.ts'
import { yamlForm } from './document/yaml.ts'

/** YAML 1.2, without what JSON does not have: aliases, anchors, tags and merge keys. */
export const yaml: DocumentForm = yamlForm(library)
