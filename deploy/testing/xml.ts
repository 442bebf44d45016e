// Reads the XML of configuration files with elements, attributes, text and comments. Throws if it is not well-formed.

export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  readonly children: readonly Element[]
}

const NODE =
  /<!--(?:(?!--)[\s\S])*-->|<\/(?<close>[\w-]+)>|<(?<open>[\w-]+)(?<attributes>(?:\s+[\w-]+="[^"<]*")*)\s*(?<empty>\/)?>|(?<text>[^<]+)/y

interface OpenElement extends Element {
  text: string
  readonly children: OpenElement[]
}

export function parseXml(source: string): Element {
  const root: OpenElement = { name: '', attributes: {}, text: '', children: [] }
  const open = [root]
  NODE.lastIndex = 0
  while (NODE.lastIndex < source.length) {
    const from = NODE.lastIndex
    const groups = NODE.exec(source)?.groups
    if (groups === undefined) throw new Error(`not well-formed: ${source.slice(from, from + 40)}`)
    const inner = open.at(-1) ?? root
    if (groups['text'] !== undefined) inner.text += groups['text'].trim()
    if (groups['close'] !== undefined && open.pop()?.name !== groups['close'])
      throw new Error(`</${groups['close']}> closes nothing`)
    if (groups['open'] === undefined) continue
    const element: OpenElement = {
      name: groups['open'],
      attributes: read(groups['attributes'] ?? ''),
      text: '',
      children: [],
    }
    inner.children.push(element)
    if (groups['empty'] === undefined) open.push(element)
  }
  const [whole, ...more] = root.children
  if (open.length !== 1 || whole === undefined || more.length > 0) throw new Error('not one whole element')
  return whole
}

/** Returns every element at `a/b/c` below this one. */
export function all(element: Element, path: string): readonly Element[] {
  return path
    .split('/')
    .reduce<readonly Element[]>(
      (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
      [element],
    )
}

function read(attributes: string): Record<string, string> {
  return Object.fromEntries(
    [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
}
