/**
 * `npm run profile`: shows where the sidecar spends its time. It prints the time by whose code it is, and draws a flame
 * graph.
 *
 *     npm run profile                 writes docs/flame.svg
 *     npm run profile -- FILE.svg     writes another file
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './harness/paths.ts'
import { ORIGINS, sharesByOrigin } from './profile/calls.ts'
import { profileSidecar } from './profile/drive.ts'
import { flameGraph, ORIGIN_NAMES, percent } from './profile/flame.ts'
import { columns, cpuModel } from './report/text.ts'

const EFFORT = { calls: 40_000, batches: 6_000 }
const TITLE = 'Portcullis: where the sidecar’s time goes'

const [file = join(ROOT, 'docs', 'flame.svg')] = process.argv.slice(2)
const { tree } = await profileSidecar(EFFORT)

const { calls, batches } = EFFORT
const count = (number: number) => number.toLocaleString('en')
const what = `${count(calls)} checks of claims, ${count(calls)} of IAM tokens, ${count(batches)} batches of 100; 8 connections × 16 in flight; without idle time`
const where = `${new Date().toISOString().slice(0, 10)}  ·  Node ${process.versions.node}  ·  ${cpuModel()}  ·  npm run profile`
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, flameGraph(tree, TITLE, `${where}\n${what}`))

const shares = sharesByOrigin(tree)
const lines = ORIGINS.map((origin) => [ORIGIN_NAMES[origin], percent(shares[origin])])
process.stdout.write(
  `${what}\n\n${columns([['time in the functions of', ''], ...lines])}\n\nwritten to ${file}\n`,
)
