// The script of the page at /docs. It starts Swagger UI and adds the token of a login to its requests. The script is inline
// and allowed by its hash. The access token stays in a variable, and the refresh token is a cookie that scripts cannot
// read.

export const DOCS_SCRIPT = `'use strict'
const byId = (id) => document.getElementById(id)
const SESSION = '/api/v1/auth/session'
let token
let endsAt = 0

const say = (text) => {
  byId('who').textContent = text
}

function take({ access_token, expires_in, user }) {
  token = access_token
  endsAt = performance.now() + (expires_in - 10) * 1000
  say('Logged in as ' + user.email + ' (' + user.role + ').')
  byId('login').hidden = true
  byId('leave').hidden = false
}

function drop(text) {
  token = undefined
  byId('login').hidden = false
  byId('leave').hidden = true
  say(text)
}

async function ask(path, body) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const told = await answer.json()
  if (answer.ok) take(told)
  else drop(told.detail ?? told.title)
}

// Tabs take turns, because each renewal replaces the cookie.
const renew = () => {
  const work = () => ask(SESSION + '/refresh', {})
  return navigator.locks === undefined ? work() : navigator.locks.request('fleet-session', work)
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault()
  const { email, password } = event.target.elements
  ask(SESSION, { email: email.value, password: password.value }).catch((error) => say(String(error)))
  password.value = ''
})
byId('session').addEventListener('click', () => renew().catch((error) => say(String(error))))
byId('leave').addEventListener('click', async () => {
  await fetch(SESSION, { method: 'DELETE' })
  drop('Logged out.')
})

async function withToken(request) {
  if (token !== undefined && performance.now() > endsAt) await renew()
  const headers = request.headers ?? {}
  if (token !== undefined && headers.Authorization === undefined) headers.Authorization = 'Bearer ' + token
  return { ...request, headers }
}

// On its own, Swagger UI searches only tags.
const search = () => ({
  fn: {
    opsFilter: (tags, text) => {
      const wanted = text.toLowerCase().split(' ')
      const words = (one) =>
        [one.get('method'), one.get('path'), one.getIn(['operation', 'operationId']), one.getIn(['operation', 'summary'])]
          .join(' ')
          .toLowerCase()
      const found = (one) => wanted.every((word) => words(one).includes(word))
      return tags
        .map((tag) => tag.update('operations', (all) => all.filter(found)))
        .filter((tag) => tag.get('operations').size > 0)
    },
  },
})

const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

if (typeof SwaggerUIBundle === 'undefined') byId('unbuilt').hidden = false
else
  SwaggerUIBundle({
    url: '/api/v1/openapi.json',
    dom_id: '#swagger',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    filter: true,
    displayRequestDuration: true,
    validatorUrl: null,
    plugins: [search],
    requestInterceptor: withToken,
  })
`
