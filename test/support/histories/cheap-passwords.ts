/**
 * Loaded into each host of the histories (`--import`): hashes of passwords cost next to nothing. Each history
 * has its own users, and a third of the time would go into deriving their hashes.
 */
import { registerHooks } from 'node:module'

const OWN = '/sidecar/authority/password-cost.ts'
const CHEAP = new URL('../suite/cheap-password-cost.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context)
    return resolved.url.endsWith(OWN) ? { ...resolved, url: CHEAP } : resolved
  },
})
