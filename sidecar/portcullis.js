#!/usr/bin/env node
// Starts the command line: the sources in a checkout, the compiled code where the package is installed. Any
// Node can read this file, so that an old one says what to do.
import { existsSync } from 'node:fs'

const sources = new URL('./cli/main.ts', import.meta.url)
const checkout = existsSync(sources)

const [major, minor] = process.versions.node.split('.').map(Number)
// The first one with argon2, which hashes passwords.
if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(`portcullis: expected Node 24.7 or later, this is ${process.version}\n${advice()}\n`)
  process.exit(2)
}
if (checkout && !existsSync(new URL('../proto/gen/made.json', import.meta.url))) {
  process.stderr.write('portcullis: expected generated code, which npm makes where it runs install scripts\n')
  process.stderr.write('Make it with `npm run gen`, and run the command again.\n')
  process.exit(2)
}
// By default SIGUSR1 opens the inspector, through which every program of this machine could read all secrets.
process.on('SIGUSR1', () => {})
start()

async function start() {
  // Before anything else is loaded. Other commands end as soon as they have done their work.
  if (process.argv[2] === 'serve') (await load('base/light-start')).beginLightStart()
  const { main } = await load('cli/main')
  return main(process.argv)
}

function load(module) {
  return import(checkout ? `./${module}.ts` : `./dist/sidecar/${module}.js`)
}

/** How to come to a newer Node. */
function advice() {
  if (!checkout) return 'Install Node 24.7 or later, and run the command again.'
  return existsSync(new URL('../node_modules/node/bin/node', import.meta.url))
    ? 'The checkout has its own Node. Use it: `npm start`, or `npx portcullis` in place of `node sidecar/portcullis.js`.'
    : 'The checkout does not have its own Node yet: npm leaves it out where it runs no install scripts. `npm rebuild node --ignore-scripts=false` installs it.'
}
