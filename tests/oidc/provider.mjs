// A provider of OpenID Connect for tests: `node provider.mjs MODULE PORT REDIRECT_URI`.
// Whoever signs in with any name exists; what is known of him follows from the name.
import { pathToFileURL } from 'node:url';

const [, , module, port, redirect] = process.argv;
const { default: Provider } = await import(pathToFileURL(module).href);
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: 'perdure', client_secret: 'secret of the tests', redirect_uris: [redirect] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'preferred_username', 'groups'] },
  pkce: { required: () => true },
  cookies: { keys: ['of the tests'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@example.com`,
      email_verified: !id.startsWith('unverified'),
      name: `${id} of the provider`,
      preferred_username: id,
      groups: id.startsWith('boss') ? ['bosses'] : ['others'],
    }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
