/** The routes of an OpenAPI description, as the configuration has them. */
import type { LeftOut, Reading } from './reading.ts'

interface Route {
  readonly path: string
  readonly methods: readonly string[]
  readonly api: string
}

/** A segment that a path of the configuration can have: a text, or a name at its end. */
const SEGMENT = /^[A-Za-z0-9\-._~!$&'()*+,=:@]*(?:\{[^{}]+\})?$/

/**
 * The routes, and those that the paths of a configuration cannot say.
 *
 * @param apis ids of the APIs of the reading
 */
export function routesOf(reading: Reading, apis: readonly string[]) {
  const routes = new Map<string, { path: string; methods: string[]; api: string }>()
  const leftOut: LeftOut[] = []
  for (const { path, method, api, line } of reading.routes) {
    const segments = path.split('/').slice(1)
    const wrong = segments.find((segment) => !SEGMENT.test(segment) || segment === '.' || segment === '..')
    if (!path.startsWith('/') || wrong !== undefined) {
      const why = `a route has a text and one name at the end of a segment; write the nearest: ${nearest(path)}`
      leftOut.push({ line, what: `route ${method} ${path}`, why })
      continue
    }
    const written = `/${named(segments).join('/')}`
    const id = apis[api] as string
    const key = `${id} ${written}`
    const route = routes.get(key)
    if (route === undefined) routes.set(key, { path: written, methods: [method], api: id })
    else route.methods.push(method)
  }
  return { routes: [...routes.values()] satisfies Route[], leftOut }
}

/** Names of a path in small letters, each once. */
function named(segments: readonly string[]): string[] {
  const taken = new Set<string>()
  return segments.map((segment) =>
    segment.replace(/\{([^{}]+)\}/, (_whole, name: string) => {
      const plain = name
        .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
        .toLowerCase()
        .replace(/[^a-z0-9_]+/g, '_')
        .replace(/^[^a-z]+/, '')
        .slice(0, 60)
      const base = plain === '' ? 'name' : plain
      let free = base
      for (let count = 2; taken.has(free); count++) free = `${base}_${count}`
      taken.add(free)
      return `{${free}}`
    }),
  )
}

/** With one name for a segment that has several. */
function nearest(path: string): string {
  const segments = path.split('/').slice(1)
  return `/${named(segments.map((segment) => (SEGMENT.test(segment) ? segment : '{rest}'))).join('/')}`
}

/** A configuration with these routes, in YAML. */
export function routesText(routes: readonly Route[], matrix: string | undefined): string {
  const lines = routes.map(({ path, methods, api }) => {
    const values = { path, methods, api }
    const members = Object.entries(values).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    return `  - { ${members.join(', ')} }`
  })
  return [
    ...(matrix === undefined ? [] : [`matrix: ${JSON.stringify(matrix)}`]),
    'routes:',
    ...lines,
    '',
  ].join('\n')
}
