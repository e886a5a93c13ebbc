/** The routes by which tests find the API of a request, and which of them were used. */
import { dirname, isAbsolute, join } from 'node:path'
import type { Engine } from '../../../../../engine/index.ts'
import {
  type CoveredPart,
  type FindRoute,
  Missing,
  type TestHeaders,
} from '../../../../../matrix/policy-tests/index.ts'
import { type Config, ConfigError, readConfig } from '../../../../config/config.ts'
import { openRoutes } from '../../../../process/open/open-routes.ts'
import { patternText } from '../../../../rules/routes/pattern.ts'
import type { Route } from '../../../../rules/routes/route.ts'
import type { Routes } from '../../../../rules/routes/routes.ts'
import { requestOf } from '../../../../rules/routes/written-request.ts'
import type { TestFile } from './test-files.ts'

/** The routes of a run: of each file that names them, and of the configuration for all others. */
export class TestRoutes {
  readonly #apis: Engine['apis']
  readonly #configured: string | undefined
  readonly #byPath = new Map<string, Routes | undefined>()
  readonly #used = new Set<Route>()

  /** @param config that of `--config` */
  constructor({ apis }: Engine, config: Config | undefined) {
    this.#apis = apis
    this.#configured = config?.file
    if (config?.file !== undefined) this.#byPath.set(config.file, config.routes && openRoutes(config, apis))
  }

  /** The files that hold the routes. */
  get paths(): string[] {
    return [...this.#byPath.keys()]
  }

  /** Finds the routes for the requests of a file. @throws ConfigError where they cannot be used */
  finderFor(file: TestFile): FindRoute | undefined {
    const routes = this.#routesOf(file)
    if (routes === undefined) return undefined
    return (method, url, headers) => {
      const match = routes.match(requestOf(method, url, headersOf(headers)))
      if (match.refused === undefined) this.#used.add(match.route)
      return match
    }
  }

  /** The routes that found the API of a request; `undefined`: there are none. */
  coverage(): CoveredPart | undefined {
    const all = [...this.#byPath.values()].flatMap((routes) => routes?.all ?? [])
    if (all.length === 0) return undefined
    const missing = new Missing()
    for (const route of all) if (!this.#used.has(route)) missing.add(() => patternText(route))
    return missing.of(all.length)
  }

  #routesOf({ path, tests }: TestFile): Routes | undefined {
    if (tests.routes === undefined)
      return this.#configured === undefined ? undefined : this.#byPath.get(this.#configured)
    const place = isAbsolute(tests.routes) ? tests.routes : join(dirname(path), tests.routes)
    if (!this.#byPath.has(place)) {
      const config = readConfig({ file: place })
      if (config.routes === undefined) throw new ConfigError(`${place}: routes: expected a list of routes`)
      this.#byPath.set(place, openRoutes(config, this.#apis))
    }
    return this.#byPath.get(place)
  }
}

function headersOf(headers: TestHeaders): Map<string, string[]> {
  const byName = new Map<string, string[]>()
  for (const [name, values] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    byName.set(lower, [...(byName.get(lower) ?? []), ...[values].flat()])
  }
  return byName
}
