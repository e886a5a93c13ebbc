/** Freezing shared values: without it, a caller who changes one would change it for all callers. */

/** Freezes a value of plain data with everything in it. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

/** A frozen copy of plain data: later changes of the original do not reach it. */
export function frozenCopy<T>(value: T): T {
  return deepFreeze(JSON.parse(JSON.stringify(value)) as T)
}
