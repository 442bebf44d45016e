// Lets Fastify answer with a constant, as a floor for REST. The constant is the first argument.
import Fastify from 'fastify'

const [, , text = '{}'] = process.argv
const app = Fastify({ logger: false })
app.get('/*', (_request, reply) => reply.type('application/json; charset=utf-8').send(text))
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`{"msg":"ready","http_url":"${address}"}\n`)
process.on('SIGTERM', () => process.exit(0))
