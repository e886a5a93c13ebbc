/** Templates of messages: `{name}` is replaced by a value. */

/** The names between braces in a template. */
export type PlaceholderOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderOf<Rest>
  : never

export function filledTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => shortened(name, String(values[name])))
}

/** Longest value in a message, in characters. The longest name of a record fits twice. */
const VALUE_LENGTH_MAX = 600

/** A message travels in a trailer, but the name of a request can be as long as the request. */
function shortened(name: string, value: string): string {
  // These two are lists, which are bounded by their number.
  if (name === 'violations' || name === 'plan' || value.length <= VALUE_LENGTH_MAX) return value
  return `${value.slice(0, VALUE_LENGTH_MAX)}…`
}
