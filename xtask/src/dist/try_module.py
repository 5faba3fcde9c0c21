import servers
for version in servers.PROGRAMS:
    with servers.Server(version) as server, server.client() as client:
        client('UM.RESERVE', 'seen', '100', '0.01')
        assert client('UM.ADD', 'seen', 'a') == client('UM.EXISTS', 'seen', 'a') == 1
        assert client('BF.ADD', 'old', 'a') == 1
print('used in', ', '.join(servers.PROGRAMS))
