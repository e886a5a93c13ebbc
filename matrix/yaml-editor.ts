/** Editing YAML with the parser of the package `yaml`, for a program that loads it when it is needed. */
import * as library from 'yaml'
import type { Editor } from './document/edit.ts'
import { yamlEditor } from './document/edit-yaml.ts'

export const editYaml: Editor = yamlEditor(library)
