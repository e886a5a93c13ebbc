#!/usr/bin/env node
// Starts the command line: the sources in a checkout, the compiled code where the package is installed.
import { existsSync } from 'node:fs'

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`portcullis: expected Node 24 or later, this is ${process.version}\n`)
  process.exit(2)
}
const sources = new URL('./cli/main.ts', import.meta.url)
const { main } = await import(
  existsSync(sources) ? sources.href : new URL('../dist/sidecar/cli/main.js', import.meta.url).href
)
await main(process.argv)
