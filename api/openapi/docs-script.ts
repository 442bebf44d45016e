// The script of the page at /docs: it finds operations and sends requests to this service. It is inline and allowed by its
// hash. The token stays in its field.

export const DOCS_SCRIPT = `'use strict'
const byId = (id) => document.getElementById(id)
const operations = [...document.querySelectorAll('details.operation')]

byId('find').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase().split(/\\s+/)
  for (const operation of operations)
    operation.hidden = !words.every((word) => operation.dataset.words.includes(word))
})

const open = () => {
  const target = byId(decodeURIComponent(location.hash.slice(1)))
  if (target?.tagName === 'DETAILS') target.open = true
}
addEventListener('hashchange', open)
open()

for (const form of document.forms)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const output = form.querySelector('output')
    output.textContent = '…'
    try {
      output.textContent = await send(form)
    } catch (error) {
      output.textContent = String(error)
    }
  })

async function send(form) {
  let path = form.dataset.path
  const query = new URLSearchParams()
  const headers = new Headers()
  const token = byId('token').value.trim()
  if (token !== '') headers.set('authorization', 'Bearer ' + token)
  for (const { name, value, dataset } of form.elements) {
    if (dataset.in === undefined || value === '') continue
    if (dataset.in === 'path') path = path.replace('{' + name + '}', encodeURIComponent(value))
    else if (dataset.in === 'query') for (const one of value.split('\\n')) query.append(name, one)
    else headers.set(name, value)
  }
  const text = form.elements.namedItem('body')?.value
  if (text !== undefined && text !== '') headers.set('content-type', form.dataset.type)
  const search = query.size === 0 ? '' : '?' + query
  const { method } = form.dataset
  const answer = await fetch(path + search, { method, headers, body: text === '' ? undefined : text, cache: 'no-store' })
  const told = [...answer.headers].map(([name, value]) => name + ': ' + value).join('\\n')
  return answer.status + ' ' + answer.statusText + '\\n' + told + '\\n\\n' + pretty(await answer.text())
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
`
