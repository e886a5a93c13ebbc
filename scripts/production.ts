/**
 * Writes what stands for the sidecar alone where it is installed without the checkout, as in the container
 * image: its manifest, its part of the lockfile, and a bill of materials (CycloneDX). All of it follows from
 * package-lock.json.
 *
 *     node scripts/production.ts FOLDER        then `npm ci --ignore-scripts` there
 *
 * `npm sbom --omit=dev --workspace portcullis` would leave out what the checkout's own tools need too, for
 * example `protobufjs`.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** A package in a lockfile, as far as it is read here. */
interface Locked {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface Lockfile {
  readonly lockfileVersion: number
  /** By folder, for example `node_modules/pg`. */
  readonly packages: Readonly<Record<string, Locked>>
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('expected the folder to write into')
  writeProduction(resolve(folder))
}

/** Writes the bill of materials alone. */
export function writeBillOfMaterials(file: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-production-'))
  try {
    writeProduction(folder)
    cpSync(join(folder, 'sbom.cdx.json'), file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Writes `package.json`, `package-lock.json` and `sbom.cdx.json`. */
function writeProduction(folder: string): void {
  const lockfile = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lockfile
  const manifest = readFileSync(join(ROOT, 'sidecar', 'package.json'), 'utf8')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), manifest)
  writeFileSync(join(folder, 'package-lock.json'), json(lockfileOf(JSON.parse(manifest), lockfile)))
  const node = lockfile.packages['node_modules/node']?.version ?? ''
  writeFileSync(join(folder, 'sbom.cdx.json'), json(billOfMaterials(folder, node)))
}

/** The lockfile of a project that has the sidecar's dependencies and nothing else. */
function lockfileOf(manifest: Locked & { name: string }, { lockfileVersion, packages }: Lockfile): object {
  const { name, version } = manifest
  const found = new Map<string, Locked>()
  const add = (from: string, locked: Locked) => {
    const { dependencies, optionalDependencies, peerDependencies } = locked
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const path = resolved(each, from, packages)
      // Optional ones may be missing.
      if (path === undefined || found.has(path)) continue
      const { dev: _, devOptional: __, ...kept } = packages[path] as Locked & Record<string, unknown>
      found.set(path, kept)
      add(path, kept)
    }
  }
  add('', manifest)
  const sorted = [...found].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return {
    ...{ name, version, lockfileVersion, requires: true },
    packages: { '': manifest, ...Object.fromEntries(sorted) },
  }
}

/** Where Node finds a package, looking upwards from the folder that asks for it. */
function resolved(name: string, from: string, packages: Lockfile['packages']): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = join(folder, 'node_modules', name)
    if (Object.hasOwn(packages, path)) return path
    if (folder === '') return undefined
  }
}

/** npm's list for the lockfile in the folder, and the Node that runs it. Equal lockfiles give equal files. */
function billOfMaterials(folder: string, node: string): object {
  const { serialNumber: _, ...bill } = JSON.parse(
    execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
      cwd: folder,
      encoding: 'utf8',
    }),
  )
  delete bill.metadata.timestamp
  bill.components.push({
    ...{ 'bom-ref': `node@${node}`, type: 'platform', name: 'node', version: node },
    purl: `pkg:generic/node@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
  })
  return bill
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
