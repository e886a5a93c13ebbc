/**
 * `npm run profile`: shows where the sidecar spends its time, on each of its transports. It prints the time
 * by whose code it is, and draws flame graphs.
 *
 *     npm run profile               writes flame.svg and flame-grpc-js.svg to bench/results/
 *     npm run profile -- FOLDER     writes them there
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './harness/paths.ts'
import { ORIGINS, sharesByOrigin } from './profile/calls.ts'
import { profileSidecar } from './profile/drive.ts'
import { flameGraph, ORIGIN_NAMES, percent } from './profile/flame.ts'
import { columns, cpuModel } from './report/text.ts'

const EFFORT = { calls: 100_000, batches: 3_000 }
const TITLE = 'Portcullis: where the sidecar’s time goes'

const GRAPHS = [
  { file: 'flame.svg', transport: 'sockets' },
  { file: 'flame-grpc-js.svg', transport: 'grpc-js' },
] as const

const [folder = join(ROOT, 'bench/results')] = process.argv.slice(2)
const { calls, batches } = EFFORT
const count = (number: number) => number.toLocaleString('en')
const what = `${count(calls)} checks of claims, ${count(calls)} of IAM tokens, ${count(batches)} batches of 100; 8 connections × 16 in flight; without idle time`
const where = `${new Date().toISOString().slice(0, 10)}  ·  Node ${process.versions.node}  ·  ${cpuModel()}  ·  npm run profile`
mkdirSync(folder, { recursive: true })
for (const { file, transport } of GRAPHS) {
  const { tree } = await profileSidecar(EFFORT, transport)
  const path = join(folder, file)
  writeFileSync(path, flameGraph(tree, `${TITLE}, on ${transport}`, `${where}\n${what}`))
  const shares = sharesByOrigin(tree)
  const lines = ORIGINS.map((origin) => [ORIGIN_NAMES[origin], percent(shares[origin])])
  const heading = [`time in the functions of, on ${transport}`, '']
  process.stdout.write(`${what}\n\n${columns([heading, ...lines])}\n\nwritten to ${path}\n\n`)
}
