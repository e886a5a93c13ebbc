/**
 * A program: what the refusal of an invalid input costs, for inputs of the size of its argument and of twice
 * that. It prints a line of JSON for each input: its name, and for each size the steps and the characters of
 * the refusal.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJson } from '../../../matrix/document/index.ts'
import { lintMatrix, parseMatrix } from '../../../matrix/index.ts'
import { refuseRepetitions } from '../../../sidecar/authority/administration/directory-file.ts'
import { readConfig } from '../../../sidecar/config/config.ts'
import { readTextFile } from '../../../sidecar/config/text-file.ts'
import { readCheck, readCheckBatch } from '../../../sidecar/contract/check-request.ts'
import { readIssueRequest, readPlanRequest } from '../../../sidecar/contract/requests.ts'
import { statusOfError } from '../../../sidecar/contract/status.ts'
import { smallMatrix } from '../matrices/small-matrix.ts'
import { closeAll, newFolder } from '../suite/resources.ts'
import { stepsOf } from './work.ts'

const file = join(newFolder(), 'file.yaml')
const times = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index))
const field = (tag: number, content: Buffer) =>
  Buffer.concat([Buffer.from([tag, ...varint(content.length)]), content])
const varint = (length: number): number[] =>
  length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...varint(length >>> 7)]
const api = field(10, Buffer.from('balance'))

const json = (text: string) => () => {
  const reading = readJson(text)
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems))
}
const matrix = (text: string) => () => parseMatrix(text)
const yaml = (text: string) => () => {
  writeFileSync(file, text)
  const reading = readTextFile(file)
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems))
}
const config = (text: string) => () => {
  writeFileSync(file, text)
  readConfig({ file })
}
const rows = (count: number, change: object) => {
  const whole = smallMatrix()
  const added = times(count, (index) => `a${index}`).map((id) => ({ ...whole.apis[0], id, ...change }))
  return JSON.stringify({ ...whole, apis: [...whole.apis, ...added] })
}

/** Inputs by their names; each is made for a size, which is the number of its faults. */
const INPUTS: Readonly<Record<string, (size: number) => () => unknown>> = {
  'JSON that repeats a key': (size) => json(`{${times(size, () => '"a":1')}}`),
  'JSON that repeats a key below a long one': (size) =>
    json(`{"${'k'.repeat(size)}":{${times(size, () => '"a":1')}}}`),
  'JSON with half surrogates below a long key': (size) =>
    json(`{"${'k'.repeat(size)}":[${times(size, () => '"\\ud800"')}]}`),
  'a matrix that repeats a key below a long one': (size) =>
    matrix(`{"${'k'.repeat(size)}":{${times(size, () => '"a":1')}}}`),
  'a matrix with unknown fields': (size) => matrix(`{${times(size, (index) => `"f${index}":1`)}}`),
  'a matrix with wrong values in every row': (size) => matrix(rows(size, { title: 1, section: 2 })),
  'a matrix with unknown ids in every row': (size) => matrix(rows(size, { accepts: ['no_kind'] })),
  'a matrix with a conflict in every row': (size) => () => {
    const whole = parseMatrix(rows(size, { accepts: ['day_pass'] }))
    throw new Error(JSON.stringify(lintMatrix(whole).problems))
  },
  'YAML with many keys': (size) => yaml(times(size, (index) => `k${index}: 1`).join('\n')),
  'YAML that repeats a key': (size) => yaml('a: 1\n'.repeat(size)),
  'YAML with aliases': (size) => yaml(`- &a x\n${'- *a\n'.repeat(size)}`),
  'YAML with merge keys': (size) =>
    yaml(`b: &b {x: 1}\n${times(size, (index) => `k${index}: {<<: *b}`).join('\n')}`),
  'YAML with an error in every place': (size) => yaml(`[${','.repeat(size)}]`),
  'YAML that opens and never closes': (size) => yaml('['.repeat(size)),
  'a configuration with unknown keys': (size) => config(times(size, (index) => `k${index}: 1`).join('\n')),
  'a configuration with unknown keys below a long one': (size) =>
    config(`profiles: {? ${'k'.repeat(size)} : {${times(size, (index) => `k${index}: 1`)}}}`),
  'a configuration with wrong callers': (size) =>
    config(`callers:\n${'- {name: 1, rights: 2}\n'.repeat(size)}`),
  'a directory file that repeats its accounts': (size) => () =>
    refuseRepetitions({ accounts: times(size, () => 'a').map((account) => ({ account })) }),
  'a check with many empty headers': (size) => () =>
    readCheck(Buffer.concat([api, field(18, Buffer.alloc(2 * size, Buffer.from([10, 0])))])),
  'a batch of checks with many empty headers': (size) => () => {
    const check = Buffer.concat([api, field(18, Buffer.alloc(2000, Buffer.from([10, 0])))])
    readCheckBatch(Buffer.concat(times(size / 10, () => '').map(() => field(10, check))), size)
  },
  'a check with many unknown fields': (size) => () =>
    readCheck(Buffer.alloc(2 * size, Buffer.from([0x78, 0]))),
  'a plan for many APIs': (size) => () => readPlanRequest(Buffer.alloc(2 * size, Buffer.from([10, 0]))),
  'an issue for many APIs': (size) => () =>
    readIssueRequest(field(34, Buffer.alloc(2 * size, Buffer.from([10, 0])))),
}

/** The characters of everything that is said, and that travels in trailers. */
function lengthOf(error: unknown): number {
  return (error as Error).message.length + (statusOfError(error).details?.length ?? 0)
}

/** The characters of the refusal. */
function refusalOf(input: () => unknown): number {
  try {
    input()
  } catch (error) {
    return lengthOf(error)
  }
  return 0
}

async function cost(input: () => unknown): Promise<{ steps: number; characters: number }> {
  let characters = 0
  const steps = await stepsOf(() => {
    characters = refusalOf(input)
  })
  return { steps, characters }
}

const size = Number(process.argv[2])
for (const [name, make] of Object.entries(INPUTS)) {
  // Once before: modules are loaded then.
  refusalOf(make(10))
  const once = await cost(make(size))
  console.log(JSON.stringify({ name, once, twice: await cost(make(2 * size)) }))
}
await closeAll()
