// Converts Markdown to HTML, as far as the pages here use it: headings, paragraphs, lists, tables, code, bold and links.
import { escaped } from './html-page.ts'

export function markdownHtml(text: string): string {
  return blocksOf(text).map(blockHtml).join('\n')
}

/** Converts inline text, at most one paragraph. */
export function markdownLine(text: string): string {
  // Code is handled first, so that nothing inside it is interpreted.
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith('`') && part.length > 1 ? codeHtml(part.slice(1, -1)) : proseHtml(part)))
    .join('')
}

type Block =
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'text'; readonly lines: readonly string[] }

function blocksOf(text: string): readonly Block[] {
  // Every second part is inside a fence.
  return text.split(/^```\w*$/m).flatMap((part, i): readonly Block[] => {
    if (i % 2 === 1) return [{ kind: 'code', text: part.trim() }]
    return part
      .split(/\n{2,}/)
      .map((block) => block.trim())
      .filter((block) => block !== '')
      .map((block) => ({ kind: 'text', lines: block.split('\n') }))
  })
}

function blockHtml(block: Block): string {
  if (block.kind === 'code') return `<pre><code>${escaped(block.text)}</code></pre>`
  const { lines } = block
  const [first = ''] = lines
  const heading = /^(#{1,4}) (.*)$/.exec(first)
  if (heading !== null) {
    const [, marks = '', title = ''] = heading
    const level = marks.length
    const rest = lines.length === 1 ? '' : blockHtml({ kind: 'text', lines: lines.slice(1) })
    return `<h${level} id="${anchorOf(title)}">${markdownLine(title)}</h${level}>${rest}`
  }
  if (first.startsWith('|')) return tableHtml(lines)
  if (first.startsWith('- ')) return listHtml(lines)
  return `<p>${markdownLine(lines.join('\n'))}</p>`
}

function listHtml(lines: readonly string[]): string {
  const items: string[] = []
  for (const line of lines) {
    if (line.startsWith('- ')) items.push(line.slice(2))
    // The next line continues the item.
    else items.push(`${items.pop() ?? ''}\n${line.trim()}`)
  }
  return `<ul>${items.map((item) => `<li>${markdownLine(item)}</li>`).join('')}</ul>`
}

function tableHtml([head = '', , ...rows]: readonly string[]): string {
  const row = (line: string, cell: string) =>
    `<tr>${cellsOf(line)
      .map((text) => `<${cell}>${markdownLine(text)}</${cell}>`)
      .join('')}</tr>`
  return `<table>${row(head, 'th')}${rows.map((line) => row(line, 'td')).join('')}</table>`
}

const cellsOf = (line: string): readonly string[] =>
  line
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split('|')
    .map((cell) => cell.trim())

const codeHtml = (text: string) => `<code>${escaped(text)}</code>`

function proseHtml(text: string): string {
  return escaped(text)
    .replaceAll(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
    .replaceAll(/\[([^[\]]+)\]\(([^()\s]+)\)/g, (_, words: string, target: string) => linkHtml(words, target))
}

/** Files of the repository are not served, so links to them become plain text. */
const linkHtml = (words: string, target: string) =>
  /^(https?:\/\/|[#/])/.test(target) ? `<a href="${target}">${words}</a>` : words

/** The anchor that GitHub generates for a heading. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
