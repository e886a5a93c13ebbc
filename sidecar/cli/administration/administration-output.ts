/**
 * The output of an administration command: the fields of the contract, as a table for people or as JSON for
 * programs.
 */

import type { Scope } from '../../../proto/gen/portcullis/v1/decision.ts'
import type { Permission, PermissionScope } from '../../../proto/gen/portcullis/v1/directory.ts'
import { columns } from '../../base/text-table.ts'
import { note } from '../terminal/errors.ts'
import { type FieldsShown, jsonOf, jsonText, print, printJson, writePart } from '../terminal/output.ts'
import { forTerminal, paint } from '../terminal/terminal.ts'
import type { Listed } from './listed-pages.ts'

/** An answer with the keys of the contract. */
type Shown = Readonly<Record<string, unknown>>

export function printRecords(answer: object, { json }: { readonly json?: boolean }): void {
  if (json) printJson(answer, SHOWN)
  else print(describe(jsonOf(answer, SHOWN) as Shown))
}

/** Prints a list while its pages arrive. A reader who has gone away has read enough. */
export async function printList({ key, pages }: Listed, { json = false }: { readonly json?: boolean }) {
  if (json) {
    let before = `{${JSON.stringify(key)}:[`
    for await (const page of pages) {
      if (!(await writePart(`${before}${page.map((record) => jsonText(record, SHOWN)).join(',')}`))) return
      before = ','
    }
    await writePart(`${before === ',' ? '' : before}]}\n`)
    return
  }
  let header: readonly string[] | undefined
  const widths: number[] = []
  for await (const page of pages) {
    const records = page.map((record) => jsonOf(record, SHOWN) as Shown)
    const first = header === undefined
    header ??= Object.keys(records[0] ?? {})
    if (!(await writePart(`${forTerminal(tableOf(records, { header, first, widths }))}\n`))) return
  }
  if (header === undefined) note(`no ${key}`)
}

/** The fields of the contract that are shown in another form than on the wire. */
const SHOWN: FieldsShown = {
  permissions: (permissions: readonly Permission[]) => permissions.map(permissionShown),
  // Without a project it is the scope of the account, as `portcullis issue` shows it.
  scope: (scope: Scope | undefined) => (scope?.project === '' ? { account: scope.account } : scope),
  // Data of any form: its keys stay as they were recorded.
  details: (details: unknown) => details,
}

/** As a directory file has it: `{ scope: account }`, `{ scope: projects, projects: [alpha] }`. */
function permissionShown({ scope, projects }: Permission): object {
  // A newer sidecar may have a scope that this program does not know.
  const word = SCOPE_WORDS[scope] ?? SCOPE_WORDS[0]
  return projects.length === 0 ? { scope: word } : { scope: word, projects }
}

const SCOPE_WORDS: Readonly<Record<PermissionScope, string>> = {
  [-1]: 'unspecified',
  0: 'unspecified',
  1: 'account',
  2: 'projects',
}

/** A list as a table, a record as its fields, and an answer with both as fields with the table below. */
function describe(answer: Shown): string {
  const entries = Object.entries(answer)
  const [[name, value] = ['', undefined], ...rest] = entries
  if (Array.isArray(value) && rest.length === 0) {
    if (typeof value[0] !== 'object') return value.length === 0 ? `no ${name}` : value.join('\n')
    return tableOf(value)
  }
  // Beside a list, the fields need the name of their owner.
  const hasList = entries.some(([, field]) => Array.isArray(field))
  const fields = entries.flatMap(([key, field]) => {
    if (isListOfRecords(field)) return []
    if (Array.isArray(field)) return [[key, field.length === 0 ? 'none' : field] as const]
    if (typeof field !== 'object' || field === null) return [[key, field] as const]
    return Object.entries(field).map(([each, part]) => [hasList ? `${key} ${each}` : each, part] as const)
  })
  if (fields.length === 0) return 'done'
  const tables = entries.flatMap(([, field]) => (isListOfRecords(field) ? [tableOf(field)] : []))
  return [columns(fields.map(([key, field]) => [paint('dim', key), cellOf(field)])), ...tables].join('\n\n')
}

function isListOfRecords(field: unknown): field is readonly Shown[] {
  return Array.isArray(field) && typeof field[0] === 'object'
}

/** @param part of a table, of which only the first one has its header */
function tableOf(
  records: readonly Shown[],
  part?: { readonly header: readonly string[]; readonly first: boolean; readonly widths: number[] },
): string {
  const { header, first, widths } = part ?? { header: Object.keys(records[0] ?? {}), first: true, widths: [] }
  const rows = records.map((record) => header.map((key) => cellOf(record[key])))
  return columns(first ? [header.map((key) => paint('bold', key)), ...rows] : rows, '  ', widths)
}

function cellOf(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map(cellOf).join(', ')
  if (typeof value === 'object' && value !== null) {
    const { scope, projects } = value as { scope?: string; projects?: string[] }
    if (scope === 'account') return 'Account'
    if (scope === 'projects' && projects !== undefined) return `Projects: ${projects.join(', ')}`
    return JSON.stringify(value)
  }
  return String(value)
}
