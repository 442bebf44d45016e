// The body of an e-mail: plain text, and HTML in which all values are escaped.
import { cut, oneLine } from './cut.ts'
import { type AlertMessage, bodyLines, factsOf, headline, linkOf, templateValuesOf } from './message.ts'
import { fillTemplate } from './template.ts'

export interface Email {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const SUBJECT_CHARS_MAX = 200

export function emailBody(message: AlertMessage, subject?: string): Email {
  const title = oneLine(headline(message))
  const own = subject === undefined ? title : oneLine(fillTemplate(subject, templateValuesOf(message)))
  const lines = bodyLines(message)
  const facts = factsOf(message)
  const link = linkOf(message.told[0])
  return {
    // A test is marked as one, whatever the subject is.
    subject: cut(
      message.event === 'test' && !own.startsWith('TEST') ? `TEST: ${own}` : own,
      SUBJECT_CHARS_MAX,
    ),
    text: [title, '', ...lines, '', ...facts.map(({ name, value }) => `${name}: ${value}`), '', link].join(
      '\n',
    ),
    html: [
      `<p><strong>${escapeHtml(title)}</strong></p>`,
      ...lines.map((line) => `<p>${escapeHtml(line)}</p>`),
      '<table>',
      ...facts.map(
        ({ name, value }) => `<tr><th align="left">${name}</th><td>${escapeHtml(value)}</td></tr>`,
      ),
      '</table>',
      link === '' ? '' : `<p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>`,
    ].join('\n'),
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
