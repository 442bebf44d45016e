// Answers requests that match no route: with pages, CORS preflights, or problems that list what exists.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { openapi } from '../../schemas/operations/service.ts'
import { SOCKET_PATHS } from '../../schemas/ws.ts'
import { refused } from '../refusal.ts'
import type { AppOptions } from './app-options.ts'
import type { Cors } from './cors.ts'
import { sendPage } from './pages.ts'
import { pathOf, sendProblem } from './problems.ts'
import { allowedMethods, type RoutePath } from './route-match.ts'

export type NotFoundOptions = Pick<AppOptions, 'pages' | 'hasDashboard'> & {
  readonly cors: Cors
  /** All routes, including those that are not operations of the REST API. */
  readonly paths: readonly RoutePath[]
}

export function answerUnmatched(
  { paths, cors, pages, hasDashboard }: NotFoundOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const page = pages === undefined ? undefined : sendPage(pages, request, reply)
  if (page !== undefined) return page
  // Without a dashboard, a browser that opens the service is redirected to the documentation.
  if (
    !hasDashboard &&
    request.method === 'GET' &&
    pathOf(request.url) === '/' &&
    /\btext\/html\b/i.test(request.headers.accept ?? '')
  )
    return reply.redirect('/docs', 302)
  // Client generators look for the document here.
  if (request.method === 'GET' && pathOf(request.url) === '/openapi.json')
    return reply.redirect(openapi.path, 302)
  // Upgrades do not come here.
  if (request.method === 'GET' && SOCKET_PATHS.some((path) => path === pathOf(request.url))) {
    reply.headers({ upgrade: 'websocket', connection: 'Upgrade' })
    return sendProblem(request, reply, refused('UPGRADE_REQUIRED', {}))
  }
  const methods = allowedMethods(paths, pathOf(request.url))
  if (methods.length === 0)
    return sendProblem(request, reply, refused('NOT_FOUND', { message: 'no such path' }))
  reply.header('allow', methods.join(', '))
  if (request.method === 'OPTIONS') {
    cors.preflight(request, reply, methods)
    return reply.code(204).send()
  }
  return sendProblem(
    request,
    reply,
    refused('METHOD_NOT_ALLOWED', { message: `allowed: ${methods.join(', ')}` }),
  )
}
