/** The manifests of the packages and the lock file. The packages themselves: test/nightly. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALLOWED_LICENSES } from '../../scripts/licenses.ts'
import { FOLDERS, manifestOf } from '../support/checkout/packages.ts'
import { ROOT } from '../support/checkout/sources.ts'

test('all packages are of one version, and so is the chart', () => {
  const { version } = manifestOf('.')
  expect(FOLDERS.map((each) => manifestOf(each).version)).toEqual(FOLDERS.map(() => version))
  const chart = parse(readFileSync(join(ROOT, 'deploy/helm/portcullis/Chart.yaml'), 'utf8'))
  expect(chart).toMatchObject({ version, appVersion: version })
})

test('npm ci runs one install script: that of Node', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const { allowScripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const scripted = Object.entries<{ hasInstallScript?: boolean }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace('node_modules/', ''))
  expect(allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, name === 'node'])))
})

test('whatever is installed with a package has an allowed license', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const others = Object.entries<{ dev?: boolean; link?: boolean; license?: string }>(packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link)
    .filter(([, { license }]) => !ALLOWED_LICENSES.includes(license ?? ''))
    .map(([path, { license }]) => `${path}: ${license}`)
  expect(others).toEqual([])
})
