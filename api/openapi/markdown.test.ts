import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { devicesPage } from './devices-page.ts'
import { markdownHtml, markdownLine } from './markdown.ts'

describe('Markdown', () => {
  test('headings have anchors, and paragraphs and lists follow them', () => {
    expect(markdownHtml('## What a device: sends\n\none\ntwo\n\n- a\n  b\n- **c**')).toBe(
      '<h2 id="what-a-device-sends">What a device: sends</h2>\n<p>one\ntwo</p>\n<ul><li>a\nb</li><li><b>c</b></li></ul>',
    )
  })

  test('a table keeps its cells, and code keeps its stars and brackets', () => {
    expect(markdownHtml('| a | b |\n| - | - |\n| `**x**` | [y](#z) |')).toBe(
      '<table><tr><th>a</th><th>b</th></tr><tr><td><code>**x**</code></td><td><a href="#z">y</a></td></tr></table>',
    )
  })

  test('a fenced block is shown unchanged, including blank lines', () => {
    expect(markdownHtml('x\n\n```bash\na < b\n\n# c\n```\n\ny')).toBe(
      '<p>x</p>\n<pre><code>a &lt; b\n\n# c</code></pre>\n<p>y</p>',
    )
  })

  test('only addresses of the web and of the service become links, and no text becomes markup', () => {
    expect(markdownLine('[a](README.md#b) [c](https://d.example) [e](javascript:f) <g>')).toBe(
      'a <a href="https://d.example">c</a> e &lt;g&gt;',
    )
  })
})

test('the guide to devices becomes a page with all its tables and examples', () => {
  const markdown = readFileSync(new URL('../DEVICES.md', import.meta.url), 'utf8')
  const html = devicesPage(markdown)
  expect(html).toContain('<h1>Writing a device</h1>')
  // Code examples are unchanged, including `#include` and comments.
  expect(html.replaceAll(/<pre>[\s\S]*?<\/pre>/g, '')).not.toMatch(/\*\*|^#|\]\(|```/m)
  for (const [, heading = ''] of markdown.matchAll(/^## (.*)$/gm)) expect(html).toContain(`>${heading}</h2>`)
  const rows = markdown.match(/^\|(?! ?-)/gm)?.length ?? 0
  expect(html.match(/<tr>/g)).toHaveLength(rows)
})
