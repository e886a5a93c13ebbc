/**
 * `npm run profile`: where the sidecar's time goes. Prints whose code it is spent in, and draws a flame graph.
 *
 *     npm run profile                 writes docs/flame.svg
 *     npm run profile -- FILE.svg     writes another file
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { columns } from '../sidecar/base/text-table.ts'
import { ORIGINS, sharesByOrigin } from './cpu-profile.ts'
import { flameGraph, ORIGIN_NAMES, percent } from './flame.ts'
import { profileSidecar } from './profiled.ts'
import { cpuModel } from './results.ts'

const EFFORT = { calls: 40_000, batches: 6_000 }
const TITLE = 'Portcullis: where the sidecar’s time goes'

const [file = join(import.meta.dirname, '..', 'docs', 'flame.svg')] = process.argv.slice(2)
const { tree } = await profileSidecar(EFFORT)

const { calls, batches } = EFFORT
const count = (number: number) => number.toLocaleString('en')
const what = `${count(calls)} checks of claims, ${count(calls)} of IAM tokens, ${count(batches)} batches of 100; 8 connections × 16 in flight; idle time left out`
const where = `${new Date().toISOString().slice(0, 10)}  ·  Node ${process.versions.node}  ·  ${cpuModel()}  ·  npm run profile`
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, flameGraph(tree, TITLE, `${where}\n${what}`))

const shares = sharesByOrigin(tree)
const lines = ORIGINS.map((origin) => [ORIGIN_NAMES[origin], percent(shares[origin])])
process.stdout.write(
  `${what}\n\n${columns([['time in the functions of', ''], ...lines])}\n\nwritten to ${file}\n`,
)
