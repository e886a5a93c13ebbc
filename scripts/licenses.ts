/**
 * The licenses of what a build contains of others: packages that it takes in, and code that generators have
 * put into ours.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './packages.ts'

/** Licenses that ask for their text and nothing more. A package with another one becomes part of nothing. */
export const ALLOWED_LICENSES: readonly string[] = [
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT'],
  '(Apache-2.0 AND BSD-3-Clause)',
]

interface License {
  /** The package that is taken in. */
  readonly name: string
  /** By its SPDX name. */
  readonly license: string
  readonly text: string
}

/** Code that is generated from the protos of others, by its folder. */
const FROM_PROTOS: readonly { folder: string; name: string; license: string; file: string }[] = [
  {
    folder: 'proto/gen/google/protobuf/',
    name: 'google.protobuf, the well-known types',
    license: 'BSD-3-Clause',
    file: 'node_modules/protobufjs/google/LICENSE',
  },
  {
    folder: 'proto/gen/google/rpc/',
    name: 'google.rpc, of googleapis',
    license: 'Apache-2.0',
    file: 'LICENSE',
  },
  {
    folder: 'proto/gen/health/',
    name: 'grpc.health.v1, of grpc-proto',
    license: 'Apache-2.0',
    file: 'node_modules/grpc-health-check/LICENSE',
  },
]

/**
 * The licenses with their texts, one after the other; empty where nothing is of others.
 *
 * @param files the sources that are taken in, from the root
 * @param withoutFile the license of a package that has no file with it
 * @throws Error that names a package without a license file, or with a license that is not allowed
 */
export function licensesOf(files: readonly string[], withoutFile: (name: string) => string = refuse): string {
  const packages = files.flatMap((path) => [...packagesIn(path), ...packagesNamedBy(path)])
  const protos = FROM_PROTOS.filter(({ folder }) => files.some((path) => path.startsWith(folder)))
  const all = [
    ...[...new Set(packages)].toSorted().map((folder) => licenseOfPackage(folder, withoutFile)),
    ...protos.map(({ name, license, file }) => ({ name, license, text: textOf(file) })),
  ]
  return all.map(({ name, license, text }) => `${name}\n${license}\n\n${text}\n`).join('\n')
}

/** The folder of the package that a file belongs to, which may be inside that of another package. */
function packagesIn(path: string): string[] {
  const [, folder] = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
  return folder === undefined ? [] : [folder]
}

/** ajv puts functions of packages into the validators that it generates, with their paths as names. */
function packagesNamedBy(path: string): string[] {
  if (!/(^|\/)gen\//.test(path)) return []
  // A long line goes on in the next one, also within a string.
  const text = textOf(path).replaceAll('\\\n', '')
  const named = text.matchAll(/["'](node_modules\/[^"']+)["']/g)
  return Array.from(named, ([, file = '']) => packagesIn(file)).flat()
}

function licenseOfPackage(folder: string, withoutFile: (name: string) => string): License {
  const { name, version, license } = JSON.parse(textOf(join(folder, 'package.json')))
  if (!ALLOWED_LICENSES.includes(license))
    throw new Error(`${name} would become part of a package; expected an allowed license, found ${license}`)
  const [file] = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: join(ROOT, folder) })
  const text = file === undefined ? withoutFile(name) : textOf(join(folder, file))
  return { name: `${name} ${version}`, license, text }
}

/**
 * The license that a package without a license file states: in its manifest, and at the beginning of its
 * sources.
 */
export function statedLicense(name: string, files: readonly string[]): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
  const notices = files
    .filter((path) => path.startsWith(`node_modules/${name}/`))
    .flatMap((path) => /^(?:\/\/.*\n)+/.exec(readFileSync(join(ROOT, path), 'utf8'))?.[0] ?? [])
    .filter((notice) => notice.includes('Copyright'))
  const author = manifest.author?.name ?? manifest.author
  const stated = `License: ${manifest.license}${author === undefined ? '' : `, by ${author}`}`
  return [stated, ...new Set(notices)].join('\n\n')
}

function refuse(name: string): never {
  throw new Error(`${name} becomes part of a package, but has no license file`)
}

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').trim()
}
