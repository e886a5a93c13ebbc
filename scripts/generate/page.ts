/**
 * Makes the page of `console/`: with hashed names for a sidecar that serves it, and as one file whose policy
 * lets no request leave it.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { licensesOf } from '../licenses.ts'
import { ROOT } from '../packages.ts'
import type { Made } from './made.ts'

/** Where the browsers are that run the page: they have `light-dark()` and Trusted Types. */
const TARGET = ['chrome123', 'firefox128', 'safari17.5']

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  target: TARGET,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
}

/** The page of a checkout. */
export async function makePage(): Promise<Made> {
  const { files, inputs } = await pageOf()
  return {
    files: new Map(Array.from(files, ([name, content]) => [`console/dist/${name}`, content])),
    inputs: ['console/page.html', ...inputs.filter((path) => !path.startsWith('node_modules/'))],
  }
}

/**
 * `index.html` with what it names in `assets/`, and `explorer.html`, with a place in which the rules are
 * written as JSON. A writer in this order serves a whole page at every moment.
 *
 * @returns inputs: all sources, as esbuild names them, those of packages too
 */
export async function pageOf(): Promise<Made> {
  const template = readFileSync(join(ROOT, 'console/page.html'), 'utf8')
  const { metafile, outputFiles } = await build({
    ...COMMON,
    entryPoints: ['console/main.tsx', 'console/styles/page.css', 'console/styles/panel.css'],
    define: { SERVED: 'true' },
    write: false,
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    format: 'esm',
    splitting: true,
    metafile: true,
  })
  const named = (entry: string): string =>
    Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry)?.[0] ?? ''
  const served = filled(template, {
    policy: '',
    style: [
      `<link rel="stylesheet" href="${named('console/styles/page.css')}">`,
      // Loaded with the control panel.
      `<meta name="panel-style" content="${named('console/styles/panel.css')}">`,
    ].join('\n    '),
    rules: '',
    script: `<script type="module" src="${named('console/main.tsx')}"></script>`,
  })
  const files = new Map<string, string | Uint8Array>(
    outputFiles.map(({ path, contents }) => [relative(ROOT, path), contents]),
  )
  files.set('index.html', served).set('explorer.html', await oneFile(template))
  return { files, inputs: Object.keys(metafile.inputs) }
}

/** The explorer alone: nothing in it asks a sidecar. */
async function oneFile(template: string): Promise<string> {
  const [{ text: script, inputs }, { text: style }] = await Promise.all([
    inline({ entryPoints: ['console/main.tsx'], format: 'iife', define: { SERVED: 'false' } }),
    inline({ entryPoints: ['console/styles/page.css'] }),
  ])
  // A text that a browser would take for a comment, or for the place of the rules.
  if (script.includes('<!--')) throw new Error('expected no `<!--` in the script of the page')
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  return filled(template, {
    policy: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    style: `<style>${style}</style>`,
    rules: '<script type="application/json" id="rules"><!--rules--></script>',
    script: `<script type="module">${script}</script>`,
    // Two hyphens would end the comment in some readers.
    licenses: `<!--\n${licensesOf(inputs).replaceAll('--', '- -')}\n-->`,
  })
}

/** @returns what it is built into, and the sources that are in that */
async function inline(options: BuildOptions): Promise<{ text: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    ...{ ...COMMON, ...options },
    ...{ write: false, metafile: true, outdir: 'unused' },
  })
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? path : [])),
  )
  return { text: outputFiles.map(({ text }) => text).join(''), inputs }
}

/** As a policy names what is inline. */
function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function filled(template: string, parts: Readonly<Record<string, string>>): string {
  return template.replace(/ *<!--(\w+)-->\n/g, (_, name: string) =>
    parts[name] ? `    ${parts[name]}\n` : '',
  )
}
